/** Answers the routes of plugins: authenticates as the route asks, reads the body, and calls its handler. */
import type { Principal } from '../exchange.ts';
import type { CoreHooks } from '../hooks.ts';
import type { Guard, Route, RouteReply } from '../plugin.ts';
import type { Registry } from '../util/registry.ts';
import { requireAccess } from './access.ts';
import { Arrival, type ListenerFacts } from './arrival.ts';
import { methodsWithBody, readBody, RequestToRoute, type Context } from './route-request.ts';
import type { Routes } from './routes.ts';

/** What routes need of the gateway. */
interface RouteCore extends ListenerFacts {
  readonly hooks: Pick<CoreHooks, 'authenticate'>;
  readonly routes: Pick<Routes, 'getOwner'>;
  readonly guards: Pick<Registry<Guard>, 'list'>;
}

interface Asked {
  readonly core: RouteCore;
  readonly route: Route;
  readonly context: Context;
  readonly params: Record<string, string>;
  readonly id: string;
}

function authenticate(
  { core, route, context, id }: Asked,
  access: Principal['kind'],
): Promise<Principal | undefined> | Principal | undefined {
  const family = core.routes.getOwner(route);
  return core.hooks.authenticate.promise(
    new Arrival(core, context, { family, operation: 'generate', access }, id),
  );
}

/** The user whose key came with a public route; undefined without one, or if the key is refused. */
async function identify(asked: Asked): Promise<Principal | undefined> {
  try {
    const principal = await authenticate(asked, 'user');
    return principal?.kind === 'user' ? principal : undefined;
  } catch {
    return undefined;
  }
}

export async function answerRoute(asked: Asked): Promise<RouteReply> {
  const { core, route, context, params } = asked;
  const request = new RequestToRoute(context, params, core.trustedProxies);
  if (route.access !== 'public') {
    // The caller is authenticated before the body is read.
    const method = route.changesNothing ? 'GET' : context.method;
    const principal = requireAccess(await authenticate(asked, route.access), route.access, method);
    return route.handle(Object.assign(request, await readBody(context)), principal);
  }
  if (methodsWithBody.has(context.method))
    return route.handle(Object.assign(request, await readBody(context)));
  for (const guard of core.guards.list()) await guard.admit(request.address);
  return route.handle(
    route.personal ? Object.assign(request, { principal: await identify(asked) }) : request,
  );
}
