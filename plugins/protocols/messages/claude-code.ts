/**
 * What Claude Code expects at its base URL beside the calls: an answer when it starts, model ids that it
 * accepts, and that the text by which it is billed reaches Anthropic alone.
 */
import type { Catalog, ClientHeaders, Host, Route } from '../../../core/index.ts';
import type * as Wire from './wire.ts';

/** The client's name says how to show the listing, and grants nothing. */
export function isClaudeCode(headers: ClientHeaders): boolean {
  return /^claude-(?:code|cli)\//.test(String(headers['user-agent']));
}

/** Claude Code drops every other id from a listing. */
const accepted = /claude|anthropic/i;

const prefix = 'claude-';
/** An id has a slash, so that no name of Anthropic's own is taken for one of these. */
const prefixed = /^claude-([^/]+\/.+)$/;

/** The id by which Claude Code accepts the model: its own, or a name that leads to no other model. */
export function toAcceptedId(catalog: Catalog, id: string): string {
  const name = prefix + id;
  return accepted.test(id) || catalog.find(name)[0]?.model.id !== id ? id : name;
}

/** Anthropic tells by it which client called. It changes with each version of the client. */
const billing = /^x-anthropic-billing-header:[^\n]*\n*/;

/** The text without its billing line. Undefined if nothing else is in it. */
export function omitBilling(text: string): string | undefined {
  return text.replace(billing, '') || undefined;
}

/** The system prompt without its billing line, for other vendors. Undefined if it has none. */
export function findUnbilledSystem({ system }: Wire.Request): { readonly value: unknown } | undefined {
  if (typeof system === 'string') return billing.test(system) ? { value: omitBilling(system) } : undefined;
  if (!Array.isArray(system)) return undefined;
  const blocks = system.flatMap((block) => {
    if (!('text' in block) || typeof block.text !== 'string' || !billing.test(block.text)) return [block];
    const text = omitBilling(block.text);
    return text === undefined ? [] : [{ ...block, text }];
  });
  const isSame = blocks.every((block, index) => block === system[index]);
  if (isSame && blocks.length === system.length) return undefined;
  return { value: blocks.length > 0 ? blocks : undefined };
}

/** Claude Code asks by HEAD whether its base URL answers. Its older versions ask the URL itself. */
function buildHelloRoutes(mount: string, encodeError: Route['encodeError']): Route[] {
  return [...new Set([mount, ''])].map((base) => ({
    name: `claude-code-hello at ${base}/`,
    method: 'GET',
    path: `${base}/api/hello`,
    access: 'public',
    encodeError,
    describe: false,
    handle: async () => ({ status: 200, body: { message: 'hello' } }),
  }));
}

export function serveClaudeCode(host: Host, mount: string, encodeError: Route['encodeError']): void {
  for (const route of buildHelloRoutes(mount, encodeError)) host.routes.add(route);
  host.catalog.addNames((name) => prefixed.exec(name)?.slice(1, 2) ?? []);
}
