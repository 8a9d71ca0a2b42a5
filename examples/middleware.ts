/**
 * Koa middleware of your own, in front of calls and pages: it adds a header to all replies, and refuses a
 * path before any key is read. `next()` resolves when the reply has ended, also that of a call. A middleware
 * leaves the request's body unread, because calls read it themselves.
 */
import type { Middleware } from 'tollgate';

export const nameServer: Middleware = async (context, next) => {
  context.set('x-served-by', 'in-house');
  await next();
};

export function hidePath(path: string): Middleware {
  return async (context, next) => {
    if (context.path !== path) {
      await next();
      return;
    }
    context.status = 403;
    context.type = 'json';
    // Text: Koa loads Node's fetch, 18 MB, to send an object.
    context.body = JSON.stringify({ error: { message: `${path} is not for you.`, code: 'forbidden' } });
  };
}
