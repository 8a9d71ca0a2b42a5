/** The golden cases: a folder for each, below the folder of its wire. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { CanonicalEvent, ClientCall, Protocol, WireEvent } from '../../core/index.ts';
import { decodeAll, readStream } from '../contract/replies.ts';

export function toGoldenUrl(wire: string, name: string, file: string): URL {
  return new URL(`../golden/${wire}/${name}/${file}`, import.meta.url);
}

/** The cases of a wire that have this file. */
export function listGolden(wire: string, file: string): string[] {
  return readdirSync(new URL(`../golden/${wire}/`, import.meta.url))
    .filter((name) => existsSync(toGoldenUrl(wire, name, file)))
    .toSorted();
}

export function readGolden(wire: string, name: string, file: string): string {
  return readFileSync(toGoldenUrl(wire, name, file), 'utf8');
}

/** The requests of a wire's cases. */
export function readRequests(wire: string): unknown[] {
  return listGolden(wire, 'request.json').map((name): unknown =>
    JSON.parse(readGolden(wire, name, 'request.json')),
  );
}

export function readGoldenStream(wire: string, name: string): WireEvent[] {
  return readStream(readFileSync(toGoldenUrl(wire, name, 'reply.sse')));
}

/** What the stream of a case says. */
export function decodeGolden(
  { name: wire, upstream }: Protocol,
  name: string,
  call: ClientCall,
): CanonicalEvent[] {
  return decodeAll(upstream.decodeEvents(call), readGoldenStream(wire, name));
}
