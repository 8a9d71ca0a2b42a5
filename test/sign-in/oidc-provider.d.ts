/** What the tests use of the identity provider's package, which has no types of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

  export interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }
  export interface Client {
    readonly clientId: string;
    backchannelLogout(subject: string, session: string): Promise<void>;
  }
  export interface Stored {
    readonly jti: string;
    destroy(): Promise<void>;
  }
  export interface Context {
    readonly path: string;
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly oidc: { readonly client: Client; readonly session: { readonly accountId: string } };
    status: number;
    body: unknown;
  }
  export default class Provider {
    constructor(issuer: string, configuration: object);
    readonly Grant: new (of: { accountId: string; clientId: string }) => Grant;
    readonly Client: { find(id: string): Promise<Client | undefined> };
    readonly IdToken: new (
      claims: object,
      context: { client: Client; ctx: undefined },
    ) => {
      set(name: string, value: unknown): void;
      mask: object;
      issue(options: { use: 'logout' | 'idtoken' }): Promise<string>;
    };
    callback(): RequestListener;
    use(middleware: (context: Context, next: () => Promise<void>) => unknown): void;
    on(event: string, listener: (...values: never[]) => void): void;
    interactionFinished(req: Context['req'], res: Context['res'], result: object): Promise<void>;
  }
}
