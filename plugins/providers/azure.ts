/** Azure OpenAI: chat-completions and responses of deployments; https://learn.microsoft.com/azure/ai-services/openai. */
import { definePlugin, drainLimits } from '../../core/index.ts';
import { offer } from '../shared/cloud/offer.ts';
import { chooseWire } from '../shared/openai-wires.ts';
import { endpointsAt } from './azure/address.ts';
import { signedIn, withKey } from './azure/credential.ts';
import { deployed, optionsSchema, resourceOf } from './azure/options.ts';

export const azure = definePlugin({
  name: 'azure',
  options: optionsSchema,
  apply(host, options) {
    const { baseUrl, apiKey, apiVersion } = resourceOf(options);
    if (baseUrl === undefined) return host.off('set AZURE_OPENAI_ENDPOINT');
    const provider = {
      name: 'azure',
      endpoints: endpointsAt(baseUrl, apiVersion),
      choose: chooseWire,
      onAbort: drainLimits(options.onAbort),
      ...(apiKey === undefined ? signedIn() : withKey(apiKey)),
    };
    offer(host, provider, new URL('catalogue/azure.json', import.meta.url), (models) => deployed(models, options.deployments));
  },
});
