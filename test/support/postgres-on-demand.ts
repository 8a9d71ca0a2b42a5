/** One PostgreSQL for a whole test run: it starts when the first test asks for it, and ends with the run. */
import { createServer } from 'node:http';
import type { TestProject } from 'vitest/node';
import { startPostgres, type PostgresServer } from './postgres.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let started: Promise<PostgresServer> | undefined;
  const server = createServer(async (_request, response) => {
    started ??= startPostgres();
    try {
      response.end((await started).url);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port is free');
  project.provide('postgres', `http://127.0.0.1:${address.port}/`);
  return async () => {
    server.close();
    await started?.then(
      (postgres) => postgres.end(),
      () => undefined,
    );
  };
}
