/** A fresh database for a test, on the one PostgreSQL of its run. */
import { inject } from 'vitest';
import { createDatabase, type Database } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the run's PostgreSQL is asked for; it is started for the first who asks. */
    readonly postgres: string;
  }
}

export async function freshDatabase(): Promise<Database> {
  const reply = await fetch(inject('postgres'));
  if (!reply.ok) throw new Error(await reply.text());
  return createDatabase(await reply.text());
}
