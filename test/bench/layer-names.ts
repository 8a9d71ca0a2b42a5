/** The layers of a call's work, from the parts to the gateway as delivered. Each contains those before it. */

/** Of the parts: Koa and http-proxy-3, the ledger's store, and core's functions called one by one. */
export const steps = ['wire', 'ledger', 'read', 'check', 'edit', 'reply'] as const;

/** Of whole gateways: core with two protocols, two providers, keys and the ledger, then further plugins. */
export const gateways = {
  core: ['bearer', 'chat-completions', 'messages', 'openai', 'deepseek', 'balance'],
  metrics: ['prometheus'],
  'log line': ['call-log'],
  'call record': ['calls'],
  limits: ['overload', 'rate-limits'],
  health: ['health'],
  affinity: ['affinity'],
  // Every other plugin of the delivered configuration.
  rest: [],
} as const satisfies Record<string, readonly string[]>;

export type Step = (typeof steps)[number];
export type GatewayLayer = keyof typeof gateways;

export function isStep(layer: string): layer is Step {
  return steps.some((step) => step === layer);
}

export function isGatewayLayer(layer: string): layer is GatewayLayer {
  return layer in gateways;
}

/** Whether a layer contains a plugin. */
export function hasPlugin(layer: GatewayLayer, plugin: string): boolean {
  if (layer === 'rest') return true;
  const names = Object.keys(gateways);
  return names
    .slice(0, names.indexOf(layer) + 1)
    .filter(isGatewayLayer)
    .some((each) => gateways[each].some((name) => name === plugin));
}
