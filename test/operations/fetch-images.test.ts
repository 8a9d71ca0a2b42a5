/**
 * One picture, fetched from a URL that a stranger names: what is refused, and that the gateway never connects
 * to a private address.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createReach,
  fetchPicture,
  isPublic,
  Unfetched,
  type Limits,
  type Picture,
  type Reach,
} from '../../plugins/operations/fetch-images/fetch.ts';
import { jpeg, png, startPictureServer, type PictureServer } from '../support/picture-server.ts';

let server: PictureServer;
let limits: Limits;
beforeAll(async () => {
  server = await startPictureServer();
  limits = {
    http: true,
    ports: [80, 443, server.port],
    maxBytes: 100_000,
    maxRedirects: 3,
    types: ['image/png', 'image/jpeg'],
  };
});
beforeEach(() => void server.asked.splice(0));

/** A name server that resolves every name to this machine. */
const resolveLoopback = async () => [{ address: '127.0.0.1', family: 4 }];
/** The server may be reached by its name, as an internal one may. */
const reachLoopback = (): Reach => createReach(undefined, ['127.0.0.1']);

function load(
  url: string,
  {
    reach = reachLoopback(),
    wanted = {},
    signal = AbortSignal.timeout(200_000),
    onBytes = () => undefined,
  }: {
    reach?: Reach;
    wanted?: Partial<Limits>;
    signal?: AbortSignal;
    onBytes?: (bytes: number) => void;
  } = {},
): Promise<Picture> {
  return fetchPicture(url, { ...limits, ...wanted }, reach, { signal, onBytes });
}

const toUrl = (path: string): string => server.origin + path;

it('a picture arrives unchanged, and its type follows from its bytes, not from the server', async () => {
  expect(await load(toUrl('/picture.png'))).toEqual({
    mediaType: 'image/png',
    data: png.toString('base64'),
  });
  expect(await load(toUrl('/unnamed'))).toEqual({ mediaType: 'image/jpeg', data: jpeg.toString('base64') });
});

it('a picture is requested without revealing who wants it', async () => {
  await load(toUrl('/picture.png'));
  expect(Object.keys(server.asked[0]?.headers ?? {}).toSorted()).toEqual([
    'accept',
    'accept-encoding',
    'connection',
    'host',
    'user-agent',
  ]);
});

it('a picture is fetched through redirects, without the cookies that the server sets', async () => {
  expect(await load(toUrl(`/to?${encodeURIComponent('/to?%2Fpicture.png')}`))).toMatchObject({
    mediaType: 'image/png',
  });
  expect(server.asked.map(({ path }) => path)).toEqual([
    '/to?%2Fto%3F%252Fpicture.png',
    '/to?%2Fpicture.png',
    '/picture.png',
  ]);
  expect(server.asked.every(({ headers }) => headers.cookie === undefined)).toBe(true);
});

it('a picture is counted piece by piece, and the fetch stops at the memory limit', async () => {
  let sum = 0;
  await load(toUrl('/picture.png'), { onBytes: (bytes) => void (sum += bytes) });
  expect(sum).toBe(png.length);
  await expect(
    load(toUrl('/endless'), {
      wanted: { maxBytes: 1e9 },
      onBytes: (bytes) => {
        sum += bytes;
        if (sum > 50_000) throw new RangeError('full');
      },
    }),
  ).rejects.toThrow();
  await expect.poll(() => server.openConnections()).toBe(0);
});

describe('a URL that leads to a private address', () => {
  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0177.0.0.1/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://0/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[64:ff9b:1::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
    'http://[fec0::1]/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://192.0.0.192/',
    'http://168.63.129.16/',
    'http://①②⑦.⓪.⓪.①/',
    'http://127。0。0。1/',
    'http://%31%32%37.0.0.1/',
  ])('is not connected to: %s', async (url) => {
    const port = new URL(url);
    port.port = String(server.port);
    await expect(load(port.href, { reach: createReach(undefined, []) })).rejects.toThrow(
      'does not fetch from',
    );
    expect(server.asked).toEqual([]);
  });

  it.each([
    'http://localhost/',
    'http://localhost./',
    'http://anything.test/',
    'http://127.0.0.1.anything.test/',
  ])('is not connected to by a name: %s', async (url) => {
    await expect(
      load(url.replace(/\/$/, `:${server.port}/`), { reach: createReach(undefined, [], resolveLoopback) }),
    ).rejects.toThrow('does not fetch from');
    expect(server.asked).toEqual([]);
  });

  it('gets no connection if a name resolves to it and to public addresses', async () => {
    const resolveMixed = async () => [
      { address: '8.8.8.8', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ];
    await expect(
      load(`http://mixed.test:${server.port}/picture.png`, {
        reach: createReach(undefined, [], resolveMixed),
      }),
    ).rejects.toThrow('does not fetch from');
  });

  it.each(['http://169.254.169.254/latest/meta-data', 'http://[::1]/', 'http://2130706434/', '//10.0.0.1/'])(
    'is not followed to: %s',
    async (location) => {
      await expect(load(toUrl(`/to?${encodeURIComponent(location)}`))).rejects.toThrow('does not fetch from');
      expect(server.asked).toHaveLength(1);
    },
  );

  it('gets the same error as an unknown name', async () => {
    const catchFault = (reach: Reach): Promise<unknown> =>
      load(`http://some.test:${server.port}/`, { reach }).catch((error: unknown) => error);
    expect(await catchFault(createReach(undefined, [], async () => []))).toEqual(
      await catchFault(createReach(undefined, [], resolveLoopback)),
    );
  });
});

it('a name whose address changes is resolved once, and the connection goes to that address', async () => {
  let requestCount = 0;
  const resolveFlipping = async () => [
    { address: requestCount++ === 0 ? '127.0.0.1' : '10.0.0.1', family: 4 },
  ];
  const reach = createReach(undefined, [], resolveFlipping, (address) => address === '127.0.0.1');
  expect(await load(`http://flip.test:${server.port}/picture.png`, { reach })).toMatchObject({
    mediaType: 'image/png',
  });
  expect(requestCount).toBe(1);
});

it('a name whose address changes is checked again after a redirect', async () => {
  let requestCount = 0;
  const reach = createReach(undefined, [], resolveLoopback, () => requestCount++ === 0);
  await expect(
    load(`http://flip.test:${server.port}/to?${encodeURIComponent('/picture.png')}`, { reach }),
  ).rejects.toThrow('does not fetch from');
  expect(server.asked).toHaveLength(1);
});

describe('a URL that is refused before any lookup', () => {
  it.each<[string, RegExp, Partial<Limits>?]>([
    ['ftp://a.test/a.png', /begins with https:\/\//],
    ['file:///etc/passwd', /begins with https:\/\//],
    ['gopher://a.test/', /begins with https:\/\//],
    ['data:image/png;base64,AAAA', /begins with https:\/\//],
    ['http://a.test/a.png', /begins with https:\/\/\. /, { http: false }],
    ['https://', /begins with https:\/\//],
    ['https://user:word@a.test/a.png', /name or a password/],
    ['https://user@a.test/a.png', /name or a password/],
    ['https://a.test:22/a.png', /one of the ports 80, 443/],
    ['http://a.test:6379/a.png', /one of the ports/],
  ])('gets an error that says why: %s', async (url, message, wanted) => {
    let requestCount = 0;
    const reach = createReach(undefined, [], async () => [
      { address: `8.8.8.${(requestCount += 1)}`, family: 4 },
    ]);
    const error = await load(url, { reach, ...(wanted ? { wanted } : {}) }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Unfetched);
    expect(`${error instanceof Error ? error.message : ''}. `).toMatch(message);
    expect(requestCount).toBe(0);
  });

  it('is at a host that the option does not allow', async () => {
    const reach = createReach(['images.test', '*.below.test'], [], resolveLoopback, () => true);
    const fetchFrom = (host: string): Promise<unknown> =>
      load(`http://${host}:${server.port}/picture.png`, { reach });
    for (const host of ['images.test', 'IMAGES.test', 'a.below.test', 'a.b.below.test'])
      expect(await fetchFrom(host), host).toMatchObject({ mediaType: 'image/png' });
    for (const host of ['other.test', 'below.test', 'evilbelow.test', 'images.test.evil.test', '127.0.0.1'])
      await expect(fetchFrom(host), host).rejects.toThrow('does not fetch from');
    const picture = encodeURIComponent(`http://other.test:${server.port}/picture.png`);
    await expect(load(`http://images.test:${server.port}/to?${picture}`, { reach })).rejects.toThrow(
      'does not fetch from',
    );
  });
});

it.each<[string, RegExp]>([
  ['/page', /none of the pictures/],
  ['/short', /none of the pictures/],
  ['/empty', /none of the pictures/],
  ['/packed', /compressed/],
  ['/long', /more than the 100000 bytes/],
  ['/endless', /more than the 100000 bytes/],
  ['/endless-page', /none of the pictures/],
  ['/cut', /breaks off/],
  ['/gone', /answers 404/],
  ['/nowhere', /answers 302/],
  ['/loop', /more redirects/],
  ['/to?https%3A%2F%2Fa.test%2F', /from one scheme to another/],
  ['/to?file%3A%2F%2F%2Fetc%2Fpasswd', /begins with https/],
  ['/to?http%3A%2F%2F%5B', /begins with https/],
])('a faulty server is given up: %s', async (path, message) => {
  await expect(load(toUrl(path))).rejects.toThrow(message);
  await expect.poll(() => server.openConnections()).toBe(0);
});

it.each(['/slow', '/silent'])('a faulty server times out at %s', async (path) => {
  const signal = AbortSignal.timeout(200);
  await expect(load(toUrl(path), { signal })).rejects.toBeDefined();
  expect(signal.aborted).toBe(true);
  await expect.poll(() => server.openConnections()).toBe(0);
});

it('a faulty server times out while its name is resolved', async () => {
  const endless = createReach(undefined, [], () => new Promise(() => undefined));
  await expect(
    load('http://slow.test/', { reach: endless, signal: AbortSignal.timeout(50) }),
  ).rejects.toMatchObject({ name: 'TimeoutError' });
});

it('a faulty server is followed through at most the configured number of redirects', async () => {
  await load(toUrl('/loop'), { wanted: { maxRedirects: 5 } }).catch(() => undefined);
  expect(server.asked).toHaveLength(6);
});

it.each(['8.8.8.8', '1.1.1.1', '2606:4700::1111', '2a00:1450:4001::1'])(
  'public addresses include the address %s',
  (address) => {
    expect(isPublic(address)).toBe(true);
  },
);

const others =
  'localhost 127.0.0.1. 1.2.3 ::ffff:8.8.8.8 ::808:808 4000::1 2001::1 ' +
  '2001:db8::1 ff02::1 100::1 192.0.2.1 198.18.0.1 240.0.0.1 0.0.0.0 fe80::1%eth0';

it.each(['', ...others.split(' ')])('public addresses do not include "%s"', (address) => {
  expect(isPublic(address)).toBe(false);
});
