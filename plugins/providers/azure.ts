/**
 * Azure OpenAI: chat-completions, responses, images and embeddings of deployments;
 * https://learn.microsoft.com/azure/ai-services/openai.
 */
import { definePlugin } from '../../core/index.ts';
import { chooseWire } from '../shared/openai/choose-wire.ts';
import { offerVendor } from '../shared/provider/offer.ts';
import { signWithKey } from '../shared/provider/sign-with-key.ts';
import {
  buildEndpoints,
  buildListingAddress,
  signWithToken,
  listDeployedModels,
  optionsSchema,
  completeOptions,
} from './azure/setup.ts';

export const azure = definePlugin({
  name: 'azure',
  options: optionsSchema,
  apply(host, options) {
    const { baseUrl, apiKey, apiVersion } = completeOptions(options);
    if (baseUrl === undefined) return host.noteOff('set AZURE_OPENAI_ENDPOINT');
    offerVendor(host, {
      provider: { name: 'azure', endpoints: buildEndpoints(baseUrl, apiVersion), choose: chooseWire },
      keys:
        apiKey === undefined
          ? [signWithToken()]
          : [apiKey].flat().map((text) => signWithKey(host, 'azure', text, (key) => ({ 'api-key': key }))),
      probe: {
        url: buildListingAddress(baseUrl, apiVersion),
        variable: 'AZURE_OPENAI_API_KEY, or who this machine is to Entra ID',
      },
      catalogue: new URL('catalogue/azure.json', import.meta.url),
      options,
      choose: (models) => listDeployedModels(models, options.deployments),
    });
  },
});
