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

export async function openDatabase(): Promise<Database> {
  const reply = await fetch(inject('postgres'));
  if (!reply.ok) throw new Error(await reply.text());
  const { url, drop } = await createDatabase(await reply.text());
  return { url, drop: closeInTime(drop) };
}
