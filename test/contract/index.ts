/** What a plugin package tests itself with, in vitest: one suite for each kind of plugin, each registered by one call. */
export { testProtocol, type ProtocolFacts } from './protocol.ts';
export type { Arbitraries } from './laws.ts';
export { mutated } from './mutation.ts';
export { testProvider, type ProviderContract } from './provider.ts';
export { testStore } from './store.ts';
