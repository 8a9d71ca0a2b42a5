/** A web server on loopback with pictures and other files. The path selects what it does. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { serve, type Served } from './serve.ts';

/** A picture of one grey point. */
export const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCB3UNq9AAAAABJRU5ErkJggg==',
  'base64',
);
export const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex');

export interface PictureServer extends Served {
  /** The paths of its requests, in order, and their headers. */
  readonly asked: { readonly path: string; readonly headers: IncomingMessage['headers'] }[];
}

function sendEndlessly(response: ServerResponse, piece: Buffer): void {
  const writeMore = (): void => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once('drain', writeMore);
  };
  writeMore();
}

const conducts: Readonly<Record<string, (response: ServerResponse, parameter: string) => void>> = {
  '/picture.png': (response) =>
    response.writeHead(200, { 'content-type': 'image/png', 'set-cookie': 'a=b' }).end(png),
  '/large': (response) => response.writeHead(200).end(Buffer.concat([png, Buffer.alloc(90_000)])),
  '/unnamed': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(jpeg),
  '/page': (response) =>
    response.writeHead(200, { 'content-type': 'image/png' }).end(`<!doctype html>${' '.repeat(2000)}`),
  '/short': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end('x'),
  '/empty': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(),
  '/packed': (response) =>
    response.writeHead(200, { 'content-type': 'image/png', 'content-encoding': 'gzip' }).end(png),
  '/long': (response) => response.writeHead(200, { 'content-length': '999999999' }).write(png),
  '/endless': (response) =>
    sendEndlessly(response.writeHead(200), Buffer.concat([png, Buffer.alloc(20_000)])),
  '/endless-page': (response) => sendEndlessly(response.writeHead(200), Buffer.alloc(20_000, 'x')),
  '/slow': (response) => void response.writeHead(200).write(png.subarray(0, 20)),
  '/silent': () => undefined,
  '/cut': (response) => {
    response.writeHead(200, { 'content-length': String(png.length) }).write(png.subarray(0, 30));
    setTimeout(() => response.destroy(), 20);
  },
  '/gone': (response) => response.writeHead(404).end(png),
  '/loop': (response) => response.writeHead(302, { location: '/loop' }).end(),
  '/to': (response, parameter) => response.writeHead(302, { location: parameter, 'set-cookie': 'a=b' }).end(),
  '/nowhere': (response) => response.writeHead(302).end(),
};

export async function startPictureServer(): Promise<PictureServer> {
  const requests: { path: string; headers: IncomingMessage['headers'] }[] = [];
  const server = createServer((request, response) => {
    const { url = '', headers } = request;
    requests.push({ path: url, headers });
    const [path = '', parameter = ''] = url.split('?');
    conducts[path]?.(response, decodeURIComponent(parameter));
  });
  return { ...(await serve(server)), asked: requests };
}
