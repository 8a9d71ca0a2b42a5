/** Describes the endpoint for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import { describePost } from '../../shared/wire-kit/reply-schemas.ts';
import { request, verdict } from './wire.ts';

const examples = [{ model: 'demo/guard', input: 'Tea or coffee?' }];
const body = request.meta({ title: 'ModerationRequest', examples });

const results = z
  .array(verdict)
  .meta({ description: "One for each input; categories are the vendor's own." });
const reply = z
  .looseObject({ id: z.string(), model: z.string(), results })
  .meta({ title: 'ModerationResult' });

export function describeCalls(): CallDescription[] {
  return [describePost({ path: '/v1/moderations', summary: 'Judge texts and pictures', body, reply })];
}
