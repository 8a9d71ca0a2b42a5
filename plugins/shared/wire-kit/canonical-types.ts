/** Short names of the canonical types that encoders and decoders mention most. */
import type { Block, CanonicalEvent } from '../../../core/index.ts';

export type BlockOf<Type extends Block['type']> = Extract<Block, { type: Type }>;
export type EventOf<Type extends CanonicalEvent['type']> = Extract<CanonicalEvent, { type: Type }>;

export type TextBlock = BlockOf<'text'>;
export type MediaBlock = BlockOf<'media'>;
export type ReasoningBlock = BlockOf<'reasoning'>;
export type ToolCall = BlockOf<'tool-call'>;
export type ToolResult = BlockOf<'tool-result'>;
export type Annotation = EventOf<'annotation'>['annotation'];
