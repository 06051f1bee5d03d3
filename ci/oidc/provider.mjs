// A certified OpenID provider on loopback, with one client and its built-in pages for signing in: any name, any password.

import { once } from 'node:events';
import Provider from 'oidc-provider';

export const CLIENT_ID = 'switchhook';
export const CLIENT_SECRET = 'a secret: with spaces';

// Starts the provider for a client that is returned to `redirect`. The person "ana" has the address ana@example.com.
export async function startProvider(port, redirect) {
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [redirect] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['for this test only'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, name: id }),
    }),
    pkce: { required: () => true },
    responseTypes: ['code'],
  });
  const server = provider.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    issuer: provider.issuer,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
