/** What the routes of the configuration return, for the OpenAPI document. */
import { describeJson } from '../../shared/operator-description.ts';
import type { Descriptions } from '../../shared/operator-routes.ts';
import { configCheck, configView, reloaded } from '../../shared/replies/configuration.ts';

export const descriptions: Descriptions = {
  'GET /admin/config': {
    summary: 'The configuration in force, without secrets',
    replies: { 200: describeJson(configView) },
  },
  'POST /admin/config/check': {
    summary: 'What a reload would change',
    replies: { 200: describeJson(configCheck) },
  },
  'POST /admin/reload': {
    summary: 'Read the configuration again, in all workers',
    details:
      'Modules of your own are read again too. ' +
      'Packages and the gateway keep their code until the next start.',
    replies: { 200: describeJson(reloaded) },
  },
};
