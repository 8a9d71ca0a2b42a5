/**
 * What authors of protocols and routes use besides core, published as `tollgate/kit`: errors in the body of
 * chat-completions, and metrics that survive a reload. Everything else in this folder is internal.
 */
export { counter, gauge, histogram } from './metric.ts';
export { decodeError, encodeError, errorBody, errorEvent } from './wire-kit/openai-error.ts';
