/** Token counts by kind of medium, as the vendor reports them. It leaves out those that are zero. */
import type { Scenario } from '../scenario.ts';
import { countAll } from '../words.ts';
import type { GeminiRequest, Part } from './request.ts';

type Modality = 'TEXT' | 'IMAGE' | 'AUDIO' | 'VIDEO' | 'DOCUMENT';

const perMedium = 85;
export const perPicture = 1290;

function toModality(mimeType: string): Modality {
  const [kind] = mimeType.split('/');
  if (kind === 'image') return 'IMAGE';
  if (kind === 'audio') return 'AUDIO';
  return kind === 'video' ? 'VIDEO' : 'DOCUMENT';
}

function listModalities(part: Part): Modality[] {
  const all = [part, ...(part.functionResponse?.parts ?? [])];
  return all.flatMap(({ inlineData, fileData }) => {
    const mimeType = inlineData?.mimeType ?? fileData?.mimeType;
    return mimeType === undefined ? [] : [toModality(mimeType)];
  });
}

export type Details = readonly { readonly modality: Modality; readonly tokenCount: number }[];

/** What a prompt holds, by modality. */
export function countPrompt({ contents, systemInstruction, tools }: Partial<GeminiRequest>): Details {
  const parts = (contents ?? []).flatMap((content) => content.parts);
  const spoken = parts.map(({ text, functionCall, functionResponse }) => [
    text,
    functionCall?.args,
    functionResponse?.response,
  ]);
  const counts = new Map<Modality, number>([['TEXT', countAll([spoken, systemInstruction?.parts, tools])]]);
  for (const modality of parts.flatMap(listModalities))
    counts.set(modality, (counts.get(modality) ?? 0) + perMedium);
  return [...counts].flatMap(([modality, tokenCount]) => (tokenCount ? [{ modality, tokenCount }] : []));
}

export function sumTokens(details: Details): number {
  return details.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
}

export interface Spent {
  readonly text: number;
  readonly pictures: number;
  readonly sounds: number;
  readonly thoughts: number;
  /** Tokens of what the vendor's own tools brought. */
  readonly toolUse: number;
}

export function buildUsageMetadata(
  prompt: Details,
  { text, pictures, sounds, thoughts, toolUse }: Spent,
  scenario: Scenario,
): object {
  if (scenario.usage === 'missing') return {};
  const promptTokenCount = sumTokens(prompt);
  const cached = Math.min(scenario.cached ?? 0, promptTokenCount);
  const candidates = text + pictures + sounds;
  const split = Object.entries({ TEXT: text, IMAGE: pictures, AUDIO: sounds }).flatMap(
    ([modality, tokenCount]) => (tokenCount ? [{ modality, tokenCount }] : []),
  );
  const usage = {
    promptTokenCount,
    ...(cached
      ? { cachedContentTokenCount: cached, cacheTokensDetails: [{ modality: 'TEXT', tokenCount: cached }] }
      : {}),
    ...(candidates ? { candidatesTokenCount: candidates, candidatesTokensDetails: split } : {}),
    ...(toolUse
      ? {
          toolUsePromptTokenCount: toolUse,
          toolUsePromptTokensDetails: [{ modality: 'TEXT', tokenCount: toolUse }],
        }
      : {}),
    ...(thoughts ? { thoughtsTokenCount: thoughts } : {}),
    totalTokenCount: promptTokenCount + candidates + toolUse + thoughts,
    promptTokensDetails: prompt,
  };
  return { usageMetadata: { ...usage, ...scenario.usage } };
}
