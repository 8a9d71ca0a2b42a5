/** What `sslmode` in the address of a PostgreSQL means: as PostgreSQL documents it, and without a word. */
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { expect, it, vi } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { certify } from '../support/certificate.ts';
import { openDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { serve, type Served } from '../support/serve.ts';

/** Speaks TLS for a server that does not. */
function serveTls(port: number, secureContext: ReturnType<typeof createSecureContext>): Promise<Served> {
  return serve(
    createServer((socket) => {
      // The client asks for TLS in its first eight bytes, and `S` agrees.
      socket.once('data', () => {
        socket.write('S');
        const client = new TLSSocket(socket, { isServer: true, secureContext });
        const server = connect(port, '127.0.0.1').on('error', () => client.destroy());
        client.on('error', () => server.destroy());
        client.pipe(server).pipe(client);
      });
    }),
  );
}

it('encrypts with `require`, checks with `verify-full` or a certificate, and prints no warning', async () => {
  const folder = makeFolder();
  const [own, other] = [certify('localhost'), certify('localhost')].map(({ key, cert }, index) => {
    const file = join(folder, `${index}.pem`);
    writeFileSync(file, cert);
    return { key, cert, file };
  });
  const { url, drop } = await openDatabase();
  const tls = await serveTls(Number(new URL(url).port), createSecureContext(own));
  const warn = vi.spyOn(process, 'emitWarning');
  const open = async (mode: string, file?: string): Promise<string> => {
    const address = new URL(url);
    address.host = `localhost:${tls.port}`;
    address.searchParams.set('sslmode', mode);
    if (file) address.searchParams.set('sslrootcert', file);
    try {
      await (await openPostgres({ url: address.href })).close();
      return 'open';
    } catch (error) {
      return String(error);
    }
  };
  expect({
    require: await open('require'),
    'require a certificate': await open('require', own?.file),
    'require another': await open('require', other?.file),
    'verify-full': await open('verify-full'),
    'verify-full with a certificate': await open('verify-full', own?.file),
    'no-verify': await open('no-verify'),
  }).toEqual({
    require: 'open',
    'require a certificate': 'open',
    'require another': expect.stringMatching('certificate'),
    'verify-full': expect.stringMatching('self-signed certificate'),
    'verify-full with a certificate': 'open',
    'no-verify': 'open',
  });
  expect(warn).not.toHaveBeenCalled();
  await tls.close();
  await drop();
});
