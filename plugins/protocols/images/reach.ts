/**
 * Keeps calls for pictures away from models that cannot create them, and calls for text away from models that
 * only create pictures.
 */
import { GatewayError, type Parsed, type Target } from '../../../core/index.ts';
import { protocolName } from './bag.ts';
import { ImageCall } from './read-request.ts';

/** Keeps the targets that can serve the call. Throws if there were targets, but none of them can. */
export function keepReachable(targets: readonly Target[], parsed: Parsed): readonly Target[] {
  if (parsed.protocol.name === 'messages') {
    return keepFitting(
      targets,
      ({ model }) => model.output.includes('text'),
      `The model "${parsed.call.model}" returns only pictures, which this protocol cannot show.`,
    );
  }
  if (parsed.protocol.name !== protocolName) return targets;
  const painters = keepFitting(
    targets,
    ({ model }) => model.output.includes('image'),
    `The model "${parsed.call.model}" cannot create images.`,
  );
  if (parsed.operation === 'edit')
    return keepFitting(
      painters,
      ({ protocol }) => protocol.name === protocolName,
      'Image editing is not supported for model',
    );
  if (!(parsed.call instanceof ImageCall && parsed.call.statesCount)) return painters;
  return keepFitting(
    painters,
    ({ protocol }) => protocol.name !== 'generate-content',
    'This model does not support "n", because it always creates one image: leave it out.',
    'n',
  );
}

function keepFitting(
  targets: readonly Target[],
  fits: (target: Target) => boolean,
  otherwise: string,
  param = 'model',
): readonly Target[] {
  const fitting = targets.filter(fits);
  if (targets.length > 0 && fitting.length === 0)
    throw new GatewayError('invalid_request', otherwise, { param });
  return fitting;
}
