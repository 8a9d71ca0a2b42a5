/** A sound request of each endpoint, for hostile inputs to change. */
import { readCases } from '../support/cases.ts';

export type Words = 'openai' | 'anthropic' | 'google' | 'cohere';

export interface Endpoint {
  readonly path: string;
  readonly words: Words;
  /** A valid body. */
  readonly body: Readonly<Record<string, unknown>>;
}

export const endpoints = readCases<readonly Endpoint[]>('endpoints.json', import.meta.url);
