/** Azure OpenAI: chat-completions and responses of deployments; https://learn.microsoft.com/azure/ai-services/openai. */
import { definePlugin, drainLimits, examineVendor } from '../../core/index.ts';
import { offer } from '../shared/cloud/offer.ts';
import { chooseWire } from '../shared/openai-wires.ts';
import { endpointsAt, listingAt } from './azure/address.ts';
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
    const probe = { url: listingAt(baseUrl, apiVersion), variable: 'AZURE_OPENAI_API_KEY, or who this machine is to Entra ID' };
    host.examinations.add({ name: 'azure', examine: () => examineVendor(provider, probe) });
    offer(host, provider, new URL('catalogue/azure.json', import.meta.url), (models) => deployed(models, options.deployments));
  },
});
