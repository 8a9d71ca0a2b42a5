/**
 * Google Vertex AI: Gemini by generate-content, Claude by messages, open models by chat-completions, and
 * embeddings;
 * https://cloud.google.com/vertex-ai/generative-ai/docs.
 */
import { definePlugin, toRegional } from '../../core/index.ts';
import { offerVendor } from '../shared/provider/offer.ts';
import {
  buildCountRequest,
  buildEndpoints,
  signWithToken,
  optionsSchema,
  findPlace,
  wrap,
} from './google-vertex/setup.ts';

export const googleVertex = definePlugin({
  name: 'google-vertex',
  options: optionsSchema,
  apply(host, options) {
    const place = findPlace(options);
    if (!place) return host.noteOff('set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION');
    offerVendor(host, {
      provider: { name: 'google-vertex', endpoints: buildEndpoints(place), wrap },
      keys: [options.credentials].flat().map(signWithToken),
      probe: {
        ...buildCountRequest(place, 'gemini-2.5-flash'),
        variable: 'GOOGLE_APPLICATION_CREDENTIALS, or who this machine is to Google',
      },
      catalogue: new URL('catalogue/google-vertex.json', import.meta.url),
      choose: (models) => (place.location === 'global' ? models : models.map(toRegional)),
      options,
    });
  },
});
