/**
 * `tollgate/testing`: what a plugin package tests itself with, in vitest. One suite for each kind of plugin
 * that a contract can hold, registered by one call; for all other kinds a host to apply a plugin to, and a
 * whole gateway on loopback.
 */
export { testProtocol, type ProtocolFacts } from './protocol.ts';
export type { Arbitraries } from './laws.ts';
export { mutate } from './mutation.ts';
export { checkEvents } from './events.ts';
export { decodeAll, fold, readStream, type Folded, type Said, type SaidCall } from './replies.ts';
export { ByteAnswer, testFamily, type FamilyClient, type FamilyFacts, type FamilyVendor } from './family.ts';
export { testProvider, type ProviderFacts } from './provider.ts';
export { testChannel, type ChannelFacts } from './channel.ts';
export { testStore } from './store.ts';
export { expectSound, type BookedEntry, type Books, type OpenedStore } from './books.ts';
export type { FakeChannel } from '../support/channels/http.ts';
export { createHost, type TestHost } from '../support/host.ts';
export { startGateway, type TestGateway } from '../support/gateway.ts';
