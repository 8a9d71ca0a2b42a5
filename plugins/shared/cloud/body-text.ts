/** The body of a request as JSON text. Forms are bytes, and no cloud wraps them. */
import type { UpstreamRequest } from '../../../core/index.ts';

export function toBodyText({ body }: UpstreamRequest): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}
