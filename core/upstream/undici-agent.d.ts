/**
 * Types undici's agent module, which is loaded without the rest of undici. The index also loads fetch,
 * WebSocket, caches and mocks: 6 MB of heap that the gateway does not use.
 */
declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici';
}
