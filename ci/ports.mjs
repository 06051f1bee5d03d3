import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';

// A port that is free now.
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

// Waits until something listens on a port, for half a minute.
export async function listening(port) {
  for (const deadline = Date.now() + 30_000; ; await setTimeout(100)) {
    const socket = connect(port, '127.0.0.1');
    const open = await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'error').then(() => false)]).catch(() => false);
    socket.destroy();
    if (open) return;
    if (Date.now() > deadline) throw new Error(`nothing listens on port ${port}`);
  }
}
