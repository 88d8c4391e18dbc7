import type { LookupFunction } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';

export interface Origin {
  /** Its host and port, as text. */
  readonly key: string;
  readonly hostname: string;
  readonly port: number;
  /** For SNI. Empty for an address. */
  readonly serverName: string;
}

export class ConnectionFailed extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

export interface SocketOptions {
  readonly lookup: LookupFunction;
  readonly certificates: readonly string[] | undefined;
  readonly connectTimeoutMs: number;
}

/** Opens a connection over TLS. `onBytes` gets what arrives; the bytes are valid only during the call. */
export type OpenSocket = (origin: Origin, onBytes: (bytes: Buffer) => void) => TLSSocket;

const sessionsMax = 100;
const tcpKeepAliveMs = 60_000;

/** Bytes are interpreted as soon as they arrive, so all connections share the memory that they arrive in. */
const arriving = Buffer.allocUnsafeSlow(64 * 1024);

export function createSockets({ lookup, certificates, connectTimeoutMs }: SocketOptions): OpenSocket {
  /** The latest session of each server, with which the next handshake is shorter. */
  const sessions = new Map<string, Buffer>();
  let secureContext: SecureContext | undefined;

  /** The authorities are read once, not for each connection. */
  function contextOnce(): SecureContext {
    secureContext ??= createSecureContext(certificates ? { ca: [...certificates] } : {});
    return secureContext;
  }

  function remember(name: string, session: Buffer): void {
    const [oldest] = sessions.keys();
    if (sessions.size >= sessionsMax && !sessions.has(name) && oldest !== undefined) sessions.delete(oldest);
    sessions.set(name, session);
  }

  return ({ hostname, port, serverName }, onBytes) => {
    const session = sessions.get(serverName);
    const onread = {
      buffer: arriving,
      callback(count: number): boolean {
        onBytes(arriving.subarray(0, count));
        return true;
      },
    };
    const options = {
      host: hostname,
      port,
      servername: serverName,
      lookup,
      secureContext: contextOnce(),
      ALPNProtocols: ['http/1.1'],
      ...(session && { session }),
      onread,
    };
    const socket = connect(options);
    socket.setNoDelay(true).setKeepAlive(true, tcpKeepAliveMs);
    const timer = setTimeout(() => socket.destroy(new ConnectionFailed('CONNECT_TIMEOUT')), connectTimeoutMs);
    for (const event of ['secureConnect', 'close']) socket.once(event, () => clearTimeout(timer));
    if (serverName !== '') socket.on('session', (made) => remember(serverName, made));
    return socket;
  };
}
