/** Amazon Bedrock; https://docs.aws.amazon.com/bedrock/latest/APIReference. */
import { definePlugin } from '../../core/index.ts';
import { offer } from '../shared/cloud/offer.ts';
import { chooseWire } from '../shared/wire-kit/choose-openai-wire.ts';
import { endpointsAt, listingAt } from './amazon-bedrock/address.ts';
import { optionsSchema, placeOf, servedBy } from './amazon-bedrock/options.ts';
import { unwrap } from './amazon-bedrock/reply.ts';
import { signerFor } from './amazon-bedrock/signature.ts';
import { wrap } from './amazon-bedrock/wrapping.ts';

export const amazonBedrock = definePlugin({
  name: 'amazon-bedrock',
  options: optionsSchema,
  apply(host, options) {
    const place = placeOf(options);
    if (!place)
      return host.off(
        'set AWS_REGION, and AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY or AWS_BEARER_TOKEN_BEDROCK',
      );
    offer(host, {
      provider: {
        name: 'amazon-bedrock',
        endpoints: endpointsAt(place.base),
        choose: chooseWire,
        wrap,
        unwrap,
      },
      keys: place.credentials.map((credential) => ({ sign: signerFor(place.region, credential) })),
      probe: {
        url: listingAt(place.base),
        variable: 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK',
      },
      catalogue: new URL('catalogue/amazon-bedrock.json', import.meta.url),
      options,
      choose: (models) => servedBy(models, options.profile),
    });
  },
});
