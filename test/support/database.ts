/**
 * A fresh database for a test, on the one PostgreSQL of its run. It is dropped when its test or file ends.
 */
import { inject } from 'vitest';
import { closeInTime } from './closing.ts';
import { createDatabase, type Database } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The path to the run's PostgreSQL, which starts with the first request for it. */
    readonly postgres: string;
  }
}

/** The URL of the run's PostgreSQL. */
export async function findServer(): Promise<string> {
  const reply = await fetch(inject('postgres'));
  const text = await reply.text();
  if (!reply.ok) throw new Error(text);
  return text;
}

/** An empty database, or a copy of the one that is named. */
export async function openDatabase(template?: string): Promise<Database> {
  const { url, drop } = await createDatabase(await findServer(), template);
  return { url, drop: closeInTime(drop) };
}
