/**
 * The vendor: nginx with ready-made files, so that it is never what a round waits for. It answers a stream as
 * fast as the connection takes it, or, while the file `paced` is there, at a pace.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../support/free-port.ts';
import { eventBytes, path, replies } from './payload.ts';
import { start, type Started } from './processes.ts';

/**
 * At 1,000 events a second nginx waits one millisecond, its smallest step, after each event it writes; not
 * yet after the head.
 */
function buildPace(eventsPerSecond: number): string {
  return `limit_rate ${eventBytes * eventsPerSecond}; limit_rate_after 512;`;
}

/**
 * A static file answers no POST, so the 405 is turned into the reply. `add_after_body` adds `[DONE]` and with
 * it takes the length off the head: a model's reply is chunked. One buffer of an event's length makes each
 * event a write. A long body is read to its end first, as every vendor does and `mirror` sees to: nginx would
 * answer its head, and a client that is answered while it still sends waits for ever.
 */
function buildConfiguration(folder: string, port: number, paced: string): string {
  const type = 'internal; default_type text/event-stream;';
  const stream =
    `${type} output_buffers 1 ${eventBytes}; postpone_output 0; addition_types text/event-stream; ` +
    'add_after_body /done.sse;';
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/temporary;`)
    .join(' ');
  return `
worker_processes 1;
master_process off;
daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.log warn;
events { worker_connections 4096; }
http {
  ${temporary}
  types {}
  access_log off;
  etag off;
  sendfile off;
  tcp_nodelay on;
  keepalive_timeout 600;
  keepalive_requests 1000000000;
  client_max_body_size 8m;
  client_body_buffer_size 4m;
  map $http_accept $shape { default json; ~text/event-stream stream; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    root ${folder}/replies;
    add_header x-request-id req_5d1c2b7a90e34f68;
    add_header openai-processing-ms 312;
    add_header openai-version 2020-10-01;
    add_header x-ratelimit-remaining-requests 9999;
    location = ${path} {
      set $pace burst;
      if (-f $document_root/paced) { set $pace paced; }
      if ($http_content_length ~ "^\\d{6}") { rewrite ^ /read last; }
      error_page 405 =200 /$shape/$pace;
      return 405;
    }
    location = /read {
      internal;
      log_not_found off;
      mirror /seen;
      error_page 404 =200 /$shape/$pace;
    }
    location = /seen { internal; return 204; }
    location /json/ { internal; default_type application/json; }
    location = /stream/burst { ${stream} }
    location = /stream/paced { ${stream} ${paced} }
    location = /done.sse { ${type} }
    location = /healthz { return 200 ok; }
    location = /connections { stub_status; }
  }
}
`;
}

export interface VendorState {
  /** Connections ever opened to it. */
  readonly accepted: number;
}

export interface Vendor extends Started {
  readonly origin: string;
  /** Whether streams are sent at the pace from now on, or as fast as they are taken. */
  pace(slow: boolean): void;
  state(): Promise<VendorState>;
}

/** A paced stream has so many events a second. */
export async function startVendor(folder: string, eventsPerSecond = 1000): Promise<Vendor> {
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  for (const name of ['replies/json', 'replies/stream', 'temporary'])
    mkdirSync(join(folder, name), { recursive: true });
  const toPath = (name: string): string => join(folder, 'replies', name);
  for (const pace of ['burst', 'paced']) {
    writeFileSync(toPath(`json/${pace}`), replies.completion);
    writeFileSync(toPath(`stream/${pace}`), replies.events);
  }
  writeFileSync(toPath('done.sse'), replies.done);
  writeFileSync(join(folder, 'nginx.conf'), buildConfiguration(folder, port, buildPace(eventsPerSecond)));
  const log = join(folder, 'nginx.log');
  const started = await start({
    command: 'nginx',
    args: ['-c', join(folder, 'nginx.conf'), '-e', log],
    origin,
    log,
  });
  return {
    ...started,
    origin,
    pace: (slow) => (slow ? writeFileSync(toPath('paced'), '') : rmSync(toPath('paced'), { force: true })),
    async state() {
      const text = await (await fetch(`${origin}/connections`, { headers: { connection: 'close' } })).text();
      return { accepted: Number(/^\s*(\d+) \d+ \d+\s*$/m.exec(text)?.[1]) };
    },
  };
}
