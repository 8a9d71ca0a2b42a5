/**
 * People sign in by the company's identity provider: in browsers to the console, with a role and the accounts
 * that their groups map to, and on devices, whose tokens make calls. The identity provider decides who is
 * still there; see `check.ts`.
 */
import { definePlugin, type Host, type Route } from '../../../core/index.ts';
import { useKeyRing } from '../../shared/key-ring.ts';
import { buildBrowserRoutes, buildLogoutRoute, findSession, toOperator, type Place } from './browser.ts';
import { keepChecking, settle, type SignIn } from './check.ts';
import { buildDeviceRoutes, createDeviceKeyring } from './devices.ts';
import { listPeopleOperations } from './operations.ts';
import { options } from './options.ts';
import { declaration, People } from './people.ts';
import { Provider } from './provider.ts';

/** The routes of both listeners, as far as they have an address. Cookies count on the admin listener. */
function serveListeners({ hooks, credentials }: Host, parts: SignIn): Route[] {
  const { publicUrl, consoleUrl } = parts.options;
  const onPublic: Place = { base: publicUrl, isAdmin: false };
  const routes = [
    ...buildBrowserRoutes(parts, onPublic),
    ...buildDeviceRoutes(parts, onPublic),
    buildLogoutRoute(parts, onPublic),
  ];
  if (consoleUrl === undefined) return routes;
  const onAdmin: Place = { base: consoleUrl, isAdmin: true };
  credentials.add({ name: 'sign-in', openapi: {} });
  hooks.authenticate.tapPromise({ name: 'sign-in', before: 'console' }, async (received) => {
    if (received.access !== 'operator') return undefined;
    const session = await findSession(parts, onAdmin, received.headers, received.method);
    return session && toOperator(session);
  });
  return [...routes, ...buildBrowserRoutes(parts, onAdmin)];
}

export const signIn = definePlugin({
  name: 'sign-in',
  options,
  apply(host, chosen) {
    const { hooks, tables, keyrings, logger, routes, commands } = host;
    if (chosen.publicUrl === chosen.consoleUrl)
      throw new Error('"consoleUrl" has to be another origin than "publicUrl"');
    let people: People | undefined;
    let stop: (() => void) | undefined;
    const findKeys = () => [...keyrings.list()].find((keyring) => keyring.people)?.people;
    const getRing = useKeyRing(host, 'sign-in');
    const parts: SignIn = {
      options: chosen,
      provider: new Provider(chosen, host),
      logger,
      routes,
      get ring() {
        return getRing();
      },
      get people() {
        if (people) return people;
        throw new Error('sign-in is not open yet');
      },
      get keys() {
        const found = findKeys();
        if (found) return found;
        throw new Error('no plugin keeps the keys of people');
      },
    };
    host.onApplied(() => {
      if (!tables.find('ledger') || !findKeys())
        throw new Error('people are kept beside the ledger: add balance() to the plugins');
    });
    hooks.ready.tapPromise({ name: 'sign-in', stage: 2 }, async () => {
      people = new People(await tables.get('ledger').open(declaration));
      stop = keepChecking(parts);
    });
    hooks.erase.tapPromise('sign-in', ({ holder }) =>
      holder === undefined ? undefined : people?.erase(holder),
    );
    hooks.close.tap('sign-in', () => void stop?.());

    for (const route of serveListeners(host, parts)) routes.add(route);
    keyrings.add(createDeviceKeyring(parts));
    const { routes: own, commands: verbs } = listPeopleOperations(
      () => tables.get('ledger'),
      (person) => settle(parts, person),
    );
    for (const route of own) routes.add(route);
    for (const command of verbs) commands.add(command);
  },
});
