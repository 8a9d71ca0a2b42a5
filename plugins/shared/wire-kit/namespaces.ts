/** Only the responses protocol puts tools into namespaces. Elsewhere they are offered by their names alone. */
import type { Tool } from '../../../core/index.ts';
import type { Lose } from './losses.ts';

function namespaceOf(tool: Tool | undefined): string | undefined {
  return tool === undefined || tool.type === 'hosted' ? undefined : tool.namespace;
}

/** Tells the name of each namespace as lost, once for all of its tools. */
export function loseNamespaces(tools: readonly Tool[], protocol: string, lose: Lose): void {
  for (const [index, tool] of tools.entries()) {
    const namespace = namespaceOf(tool);
    if (namespace !== undefined && namespace !== namespaceOf(tools[index - 1])) {
      lose(`tools[${index}].namespace.name`, `${protocol} has no namespaces for tools`);
    }
  }
}
