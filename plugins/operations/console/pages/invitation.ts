/**
 * What someone sees who opens the link of an invitation: who invites them, and a button that gives the key.
 * The secret is in the fragment of the link, which browsers do not send, and leaves the address at once.
 */
import { call } from './api.ts';
import { renderTime } from './format.ts';
import { getMessage, html, signal, useEffect, useSignal } from './kit.ts';
import { renderHead, renderProblem, runAction } from './parts.ts';
import { openNewSecret, type SecretPlace } from './secrets.ts';

/** The secret of the link that was opened; empty if none was. */
export const invitation = signal('');

function takeInvitation(): void {
  const [, secret] = /^#invitation=(in-\w+)$/.exec(window.location.hash) ?? [];
  if (secret === undefined) return;
  invitation.value = secret;
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
}
takeInvitation();
window.addEventListener('hashchange', takeInvitation);

interface Props {
  readonly place: SecretPlace | undefined;
  /** Goes on with the key. */
  start(secret: string): void;
}

export function Invitation({ place, start }: Props) {
  const found = useSignal<{ account: string; name: string; expires: string } | undefined>(undefined);
  const fault = useSignal<string | undefined>(undefined);
  const secret = invitation.value;
  useEffect(() => {
    [found.value, fault.value] = [undefined, undefined];
    call('POST /v1/invitations/look', {}, { invitation: secret }).then(
      (reply) => (found.value = reply),
      (error: unknown) => (fault.value = getMessage(error)),
    );
  }, [secret]);
  const redeem = async (): Promise<void> => {
    const made = await call('POST /v1/invitations/redeem', {}, { invitation: secret });
    invitation.value = '';
    start(made.key);
    openNewSecret(made, place);
  };
  return html`<section class="card">
    ${renderHead('You are invited', undefined, 'h2')} ${renderProblem(fault.value)}
    ${
      found.value &&
      html`<p>
          <strong>${found.value.name}</strong> gets a key of <strong>${found.value.account}</strong>. The
          invitation works once, until ${renderTime(found.value.expires, 'brief')}.
        </p>
        <button class="primary" onClick=${() => void runAction(redeem)}>Get my key</button>`
    }
    ${fault.value && html`<button onClick=${() => (invitation.value = '')}>Continue without it</button>`}
  </section>`;
}
