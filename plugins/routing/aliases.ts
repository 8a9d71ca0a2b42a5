/**
 * Model ids of the operator's own, such as `{ 'house/fast': 'openai/gpt-5-mini' }`. The reply names the model
 * that answers.
 */
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { stages } from '../shared/routing/ranking.ts';

const modelId = z.string().regex(/^[\w.-]+\/.+$/, 'must be <owner>/<name>');

export const aliases = definePlugin({
  name: 'aliases',
  /** Own id → model id. */
  options: z.record(modelId, modelId),
  apply(host, names) {
    host.hooks.route.tap({ name: 'aliases', stage: stages.aliases }, (targets, { call, protocol }) => {
      const meant = targets.length === 0 && Object.hasOwn(names, call.model) ? names[call.model] : undefined;
      return meant === undefined ? targets : host.targetsFor(meant, protocol);
    });
  },
});
