/**
 * What the gateway uses of Node's `http`. An `import` of it would read all its exports, and one of them loads
 * Node's own fetch: 18 MB that a gateway does not need before its first call.
 */
export const {
  Agent,
  createServer,
  IncomingMessage,
  ServerResponse,
  setGlobalProxyFromEnv,
  validateHeaderName,
  validateHeaderValue,
} = process.getBuiltinModule('node:http');
