/** The tools that a request offers: those of `tools`, and those that messages add to the conversation. */
import { readMember, readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import type * as Wire from './wire.ts';

export interface OfferedTool {
  readonly tool: Fields;
  readonly at: string;
}

export function listOfferedTools({ tools, messages }: Wire.Request): OfferedTool[] {
  const offered = (tools ?? []).map((tool, index): OfferedTool => ({ tool, at: `tools[${index}]` }));
  for (const [index, { content }] of messages.entries()) {
    if (typeof content !== 'object') continue;
    for (const [position, block] of content.entries()) {
      if (block.type !== 'tool_addition' && block.type !== 'compaction') continue;
      for (const added of listAddedTools(block))
        offered.push({ ...added, at: `messages[${index}].content[${position}]${added.at}` });
    }
  }
  return offered;
}

/** Returns the tool that a block defines, or the tools that a summary of the conversation kept. */
function listAddedTools(block: Fields): OfferedTool[] {
  if (block.type === 'tool_addition') {
    const tool = readMember(block.tool, 'definition');
    return isObject(tool) ? [{ tool, at: '.tool.definition' }] : [];
  }
  return readObjects(block.tool_changes).flatMap((change, index) =>
    listAddedTools({ ...change, type: 'tool_addition' }).map(({ tool, at }) => ({
      tool,
      at: `.tool_changes[${index}]${at}`,
    })),
  );
}
