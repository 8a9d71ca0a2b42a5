/** Keeps calls for pictures away from models that cannot make them, and other calls from models that only make pictures. */
import { GatewayError, type Parsed, type Target } from '../../../core/index.ts';
import { protocolName } from './bag.ts';
import { ImageCall } from './read-request.ts';

/** The targets that can do what is asked. Throws where there were targets, but none of them can. */
export function reachable(targets: readonly Target[], parsed: Parsed): readonly Target[] {
  if (parsed.protocol.name === 'messages') {
    return left(
      targets,
      ({ model }) => model.output.includes('text'),
      `The model "${parsed.call.model}" answers with pictures alone, which this protocol cannot show.`,
    );
  }
  if (parsed.protocol.name !== protocolName) return targets;
  const painters = left(
    targets,
    ({ model }) => model.output.includes('image'),
    `The model "${parsed.call.model}" makes no images.`,
  );
  if (parsed.operation === 'edit')
    return left(
      painters,
      ({ protocol }) => protocol.name === protocolName,
      'Image editing is not supported for model',
    );
  if (!(parsed.call instanceof ImageCall && parsed.call.statesCount)) return painters;
  return left(
    painters,
    ({ protocol }) => protocol.name !== 'generate-content',
    '"n" cannot be sent for this model, which always makes one image: leave it out.',
    'n',
  );
}

function left(
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
