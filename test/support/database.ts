/** A fresh database for a test, on the one PostgreSQL of its run. */
import { inject } from 'vitest';
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
  return createDatabase(await reply.text());
}
