/**
 * Azure OpenAI: chat-completions, responses and images of deployments;
 * https://learn.microsoft.com/azure/ai-services/openai.
 */
import { definePlugin } from '../../core/index.ts';
import { offer } from '../shared/cloud/offer.ts';
import { chooseWire } from '../shared/wire-kit/choose-openai-wire.ts';
import { endpointsAt, listingAt } from './azure/address.ts';
import { signedIn, withKey } from './azure/credential.ts';
import { deployed, optionsSchema, resourceOf } from './azure/options.ts';

export const azure = definePlugin({
  name: 'azure',
  options: optionsSchema,
  apply(host, options) {
    const { baseUrl, apiKey, apiVersion } = resourceOf(options);
    if (baseUrl === undefined) return host.off('set AZURE_OPENAI_ENDPOINT');
    offer(host, {
      provider: {
        name: 'azure',
        endpoints: endpointsAt(baseUrl, apiVersion),
        choose: chooseWire,
      },
      keys: apiKey === undefined ? [signedIn()] : [apiKey].flat().map(withKey),
      probe: {
        url: listingAt(baseUrl, apiVersion),
        variable: 'AZURE_OPENAI_API_KEY, or who this machine is to Entra ID',
      },
      catalogue: new URL('catalogue/azure.json', import.meta.url),
      options,
      choose: (models) => deployed(models, options.deployments),
    });
  },
});
