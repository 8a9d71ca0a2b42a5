/**
 * A Koa that answers one path with one file: what a listing is held against. `node static.ts <port> <path>
 * <file>`
 */
import { readFileSync } from 'node:fs';
import Router from '@koa/router';
import Koa from 'koa';

const [port, path = '/', file = ''] = process.argv.slice(2);
const body = readFileSync(file, 'utf8');
const router = new Router();
router.get('/healthz', (context) => {
  context.body = 'ok';
});
router.get(path, (context) => {
  context.set('content-type', 'application/json; charset=utf-8');
  context.set('etag', '"static"');
  context.body = body;
});
new Koa().use(router.routes()).listen(Number(port), '127.0.0.1');
