/**
 * A mail server for submission (RFC 6409): it takes commands in their order only, wants STARTTLS before
 * anything else, then a password, and reads the message that comes.
 */
import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { certify } from '../certificate.ts';
import { serve } from '../serve.ts';
import type { FakeChannel, Reply, Shown } from './http.ts';

export interface FakeMailServer extends FakeChannel {
  readonly port: number;
  /** Of the authority that clients have to trust. */
  readonly certificate: string;
  /** Message ids, in the order of arrival. */
  readonly ids: readonly string[];
  readonly recipients: readonly string[];
}

export const mailUser = { user: 'gateway', password: 'aSecretOfMail' };

function decodeQuoted(text: string): string {
  const bytes = text
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

function decodeWords(header: string): string {
  return header
    .replaceAll(/\?=\r\n\s=\?/g, '?==?')
    .replaceAll(/=\?UTF-8\?(Q|B)\?([^?]*)\?=/gi, (_, form: string, text: string) =>
      form.toUpperCase() === 'B'
        ? Buffer.from(text, 'base64').toString()
        : decodeQuoted(text.replaceAll('_', ' ')),
    );
}

interface Mail extends Shown {
  readonly id: string;
}

/** Undefined if it is no message of this century. */
function readMail(source: string): Mail | undefined {
  const end = source.indexOf('\r\n\r\n');
  const head = source.slice(0, end).replaceAll(/\r\n[ \t]+/g, (fold) => (fold.includes('=?') ? fold : ' '));
  const find = (name: string): string | undefined =>
    new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim();
  const [id, subject, from, date] = ['message-id', 'subject', 'from', 'date'].map(find);
  if (end < 0 || !id || !subject || !from || !date || /[^\r]\n|\r(?!\n)/.test(source)) return undefined;
  if (source.split('\r\n').some(({ length }) => length > 998)) return undefined;
  const encoding = find('content-transfer-encoding')?.toLowerCase();
  const body = source.slice(end + 4);
  const text =
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString()
      : encoding === 'quoted-printable'
        ? decodeQuoted(body)
        : body;
  const isPlain = find('content-type')?.startsWith('text/plain') === true;
  const shown = `${decodeWords(subject)}\n${text}`;
  return { id, text: shown, marks: isPlain ? (shown.match(/https?:\/\/\S+/g) ?? []) : ['HTML'] };
}

interface Session {
  stage: 'new' | 'greeted' | 'secure' | 'ready' | 'from' | 'to' | 'data';
  data: string;
  rest: string;
}

export async function startSmtp(): Promise<FakeMailServer> {
  const { key, cert } = certify('localhost');
  const secureContext = createSecureContext({ key, cert });
  const shown: Shown[] = [];
  const ids: string[] = [];
  const recipients: string[] = [];
  const failures: Reply[] = [];
  let count = 0;
  const password = Buffer.from(`\0${mailUser.user}\0${mailUser.password}`).toString('base64');

  function takeMessage(session: Session): string | undefined {
    count += 1;
    const failure = failures.shift();
    session.stage = 'ready';
    if (failure?.status === 0) return undefined;
    if (failure) return '451 4.3.0 try again later';
    const mail = readMail(session.data.replaceAll('\r\n..', '\r\n.'));
    if (!mail) return '554 5.6.0 this is no message';
    shown.push({ text: mail.text, marks: mail.marks });
    ids.push(mail.id);
    return '250 2.0.0 accepted';
  }

  /** The reply to one command; undefined: none. */
  function answer(session: Session, line: string): string | undefined {
    const command = line.toUpperCase();
    const { stage } = session;
    if (command === 'QUIT') return '221 2.0.0 bye';
    if (/^EHLO \S+$/.test(command)) {
      session.stage = stage === 'new' ? 'greeted' : 'secure';
      return stage === 'new' ? '250-localhost\r\n250 STARTTLS' : '250-localhost\r\n250 AUTH PLAIN';
    }
    if (command.startsWith('AUTH PLAIN') && stage === 'secure') {
      if (line.slice(11) !== password) return '535 5.7.8 wrong password';
      session.stage = 'ready';
      return '235 2.7.0 welcome';
    }
    if (/^MAIL FROM:<[^<>\s]+@[^<>\s]+>/.test(command) && stage === 'ready') {
      session.stage = 'from';
      return '250 2.1.0 sender';
    }
    const [, to] = /^RCPT TO:<([^<>\s]+@[^<>\s]+)>/i.exec(line) ?? [];
    if (to !== undefined && (stage === 'from' || stage === 'to')) {
      session.stage = 'to';
      recipients.push(to);
      return '250 2.1.5 recipient';
    }
    if (command === 'DATA' && stage === 'to') {
      [session.stage, session.data] = ['data', ''];
      return '354 go on';
    }
    return stage === 'new' || stage === 'greeted' ? '530 5.7.0 STARTTLS first' : '503 5.5.1 not now';
  }

  function converse(socket: Socket, session: Session): void {
    const read = (chunk: Buffer): void => {
      session.rest += chunk.toString('latin1');
      for (;;) {
        const mark = session.stage === 'data' ? '\r\n.\r\n' : '\r\n';
        const end = session.rest.indexOf(mark);
        if (end < 0) return;
        const part = session.rest.slice(0, end);
        session.rest = session.rest.slice(end + mark.length);
        if (part.toUpperCase() === 'STARTTLS' && session.stage === 'greeted') {
          socket.off('data', read);
          socket.write('220 2.0.0 ready for TLS\r\n');
          const secure = new TLSSocket(socket, { isServer: true, secureContext });
          secure.on('error', () => undefined);
          return converse(secure, { stage: 'secure', data: '', rest: '' });
        }
        if (session.stage === 'data') session.data = part;
        const reply = session.stage === 'data' ? takeMessage(session) : answer(session, part);
        if (reply !== undefined) socket.write(`${reply}\r\n`);
      }
    };
    socket.on('data', read);
  }

  const server = createServer((socket) => {
    socket.write('220 localhost ESMTP\r\n');
    converse(socket, { stage: 'new', data: '', rest: '' });
  });
  const { port, close } = await serve(server);
  return {
    url: `smtp://localhost:${port}`,
    port,
    certificate: cert,
    shown,
    ids,
    recipients,
    count: () => count,
    failNext: (...replies) => void failures.push(...replies),
    close,
  };
}
