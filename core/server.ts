/**
 * The HTTP server: requests come in, exchanges go out. Calls of a protocol are read as raw bytes and run
 * through the pipeline. Everything else is a page: a route of a plugin, or health.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Core } from './core.ts';
import { arriveBy } from './dispatch.ts';
import { Arrival, createMatcher, readTarget, type Call, type ReceivedRequest } from './http/arrival.ts';
import { refuseCompressed, toWrongBodyError, type BodyShare } from './http/bodies.ts';
import { findInheritedSocket } from './http/inherited-socket.ts';
import { parseJson, type ReadBody } from './http/json-body.ts';
import { closeListener, listen, formatUrl, type Address } from './http/listener.ts';
import type { Audience } from './http/page-router.ts';
import type { Pages } from './http/pages.ts';
import { Reply } from './http/reply.ts';
import { isUpload, readUpload } from './http/uploads.ts';
import { runCall } from './pipeline.ts';

export interface GatewayServer {
  readonly url: string;
  /** Switches to another gateway from the next request on. */
  serve(core: Core): void;
  /** Stops listening and waits for running calls. Idle connections stay open for `grace` milliseconds. */
  close(grace?: number): Promise<void>;
  /** Closes every open connection at once. */
  disconnect(): void;
}

export async function openServer(
  core: Core,
  address: Address,
  audience: Audience = 'everyone',
): Promise<GatewayServer> {
  let answer = createHandler(core, audience);
  const fd = findInheritedSocket(audience === 'everyone' ? 'public' : 'admin');
  const server = await listen(
    { ...address, fd },
    (request, response) => answer(request, response),
    core.logger,
  );
  return {
    url: formatUrl(server, fd === undefined ? address.host : undefined),
    serve(next) {
      answer = createHandler(next, audience);
    },
    close: (grace) => closeListener(server, grace),
    disconnect: () => server.closeAllConnections(),
  };
}

/** What answers on one listener. */
interface Site {
  readonly core: Core;
  /** Loads Koa with the first page: calls pass it by, and it takes 2 MB. */
  openPages(): Promise<Pages>;
}

function createHandler(core: Core, audience: Audience): RequestListener {
  const prefixes = audience === 'everyone' ? [''] : [...core.callPaths];
  const findCall = createMatcher([...core.protocols.all()], prefixes);
  let pages: Pages | undefined;
  const site: Site = {
    core,
    async openPages() {
      const { createPages } = await import('./http/pages.ts');
      return (pages ??= createPages(core, audience, findCall));
    },
  };
  return (req, res) => {
    try {
      const request = readTarget(req, res);
      const call = request.method === 'GET' && pages?.has(request.path) ? undefined : findCall(request);
      void (call ? takeCall(site, request, call) : withPages(site, res, (opened) => opened.answer(req, res)));
    } catch (error) {
      void withPages(site, res, (opened) => opened.fail(req, res, error));
    }
  };
}

/** Disconnects the client if Koa does not load, for example without file descriptors. */
async function withPages(
  { core, openPages }: Site,
  res: ServerResponse,
  answer: (pages: Pages) => Promise<void> | void,
): Promise<void> {
  try {
    await answer(await openPages());
  } catch (error) {
    core.logger.error({ error }, 'a page could not be answered');
    res.destroy();
  }
}

/** Runs a call. The pipeline writes the reply, with its own back-pressure and end. */
async function takeCall(site: Site, request: ReceivedRequest, call: Call): Promise<void> {
  const { core } = site;
  const { req, res } = request;
  const { protocol, match } = call;
  const received = arriveBy(
    new Arrival(core, request, { family: protocol.name, operation: match.operation }),
    req,
    res,
  );
  const reply = new Reply(res, received.id, core);
  res.on('close', () => {
    reply.memory.release();
    if (!res.writableFinished) received.cancellation.cancel();
  });
  const halfClosed = (): void => reply.probe(req.httpVersion, protocol.client.keepAlive);
  req.socket.on('end', halfClosed);
  const share = core.bodies.openShare();
  const running = core.calls.begin(received);
  try {
    await runCall(core, received, {
      protocol,
      match,
      reply,
      body() {
        checkBodyType(req, call);
        refuseCompressed(req);
        core.replies.checkRoom();
        // Anything else is read as JSON, because many clients send no content type.
        return isUpload(req.headers) ? readForm(site, request, share) : share.read(req).then(parseJson);
      },
    });
  } catch (error) {
    await withPages(site, res, (pages) => pages.fail(req, res, error));
  } finally {
    req.socket.off('end', halfClosed);
    core.calls.end(running);
    share.release();
    reply.releaseRecording();
  }
}

function checkBodyType({ headers }: IncomingMessage, { protocol, match }: Call): void {
  const isForm = isUpload(headers);
  if (isForm && (match.body ?? protocol.body) === 'json') throw toWrongBodyError('application/json');
  if (!isForm && match.body === 'multipart') throw toWrongBodyError('multipart/form-data');
}

async function readForm(
  { core, openPages }: Site,
  { req, res }: ReceivedRequest,
  share: BodyShare,
): Promise<ReadBody> {
  // The size of a form's files is known only after it is read, so the content length counts.
  share.take(Math.min(Number(req.headers['content-length'] ?? Infinity), core.bodies.limit));
  const pages = await openPages();
  const form = await readUpload(pages.contextOf(req, res), core.bodies.limit, core.uploadFolder);
  const text = JSON.stringify(form.fields);
  return { bytes: Buffer.from(text), text, value: form };
}
