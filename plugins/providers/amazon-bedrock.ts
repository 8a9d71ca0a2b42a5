/** Amazon Bedrock; https://docs.aws.amazon.com/bedrock/latest/APIReference. */
import { definePlugin } from '../../core/index.ts';
import { chooseWire } from '../shared/openai/choose-wire.ts';
import { offerVendor } from '../shared/provider/offer.ts';
import {
  buildEndpoints,
  buildListingAddress,
  optionsSchema,
  findPlace,
  filterModels,
  createSigning,
} from './amazon-bedrock/setup.ts';
import { unwrap, wrap } from './amazon-bedrock/wire.ts';

export const amazonBedrock = definePlugin({
  name: 'amazon-bedrock',
  options: optionsSchema,
  apply(host, options) {
    const place = findPlace(options);
    if (!place)
      return host.noteOff(
        'set AWS_REGION, and AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY or AWS_BEARER_TOKEN_BEDROCK',
      );
    const { base, region, credentials } = place;
    offerVendor(host, {
      provider: { name: 'amazon-bedrock', endpoints: buildEndpoints(base), choose: chooseWire, wrap, unwrap },
      keys: credentials.map((credential) => createSigning(host, region, credential)),
      probe: {
        url: buildListingAddress(base),
        variable: 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK',
      },
      catalogue: new URL('catalogue/amazon-bedrock.json', import.meta.url),
      options,
      choose: (models) => filterModels(models, options.profile),
    });
  },
});
