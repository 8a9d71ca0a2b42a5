/** Only the wire of responses puts tools into namespaces: elsewhere they are offered by their names alone. */
import type { Tool } from '../../core/index.ts';
import type { Lose } from './losses.ts';

function namespaceOf(tool: Tool | undefined): string | undefined {
  return tool === undefined || tool.type === 'hosted' ? undefined : tool.namespace;
}

/** Tells as lost what each namespace is called, once for all tools in it. */
export function loseNamespaces(tools: readonly Tool[], protocol: string, lose: Lose): void {
  for (const [index, tool] of tools.entries()) {
    const namespace = namespaceOf(tool);
    if (namespace !== undefined && namespace !== namespaceOf(tools[index - 1])) lose(`tools[${index}].namespace.name`, `${protocol} has no namespaces for tools`);
  }
}
