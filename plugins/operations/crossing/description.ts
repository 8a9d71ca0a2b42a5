/** What the routes of crossings take and return, for the OpenAPI document. */
import { describeJson } from '../../shared/operator-description.ts';
import type { Descriptions } from '../../shared/operator-routes.ts';
import { capabilities, crossingPreview } from '../../shared/replies/crossing.ts';
import { crossingOrder } from './order.ts';

export const descriptions: Descriptions = {
  'POST /admin/crossing': {
    summary: 'What would be sent for a call',
    details:
      'Shows the request to each provider of the model, by each wire, and what is lost on the way. ' +
      'Nothing is sent, reserved or charged.',
    body: describeJson(crossingOrder),
    replies: { 200: describeJson(crossingPreview) },
  },
  'GET /admin/capabilities': {
    summary: 'What crosses between the protocols',
    details:
      'Outcomes by capability, the protocol of the client and the wire of the provider, ' +
      'as tests measured them.',
    replies: { 200: describeJson(capabilities) },
  },
};
