/**
 * undici's agent without the rest of undici: its index also loads fetch, WebSocket, caches and mocks, 6 MB of heap
 * that nothing here uses.
 */
declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici';
}
