/** The one page of the authorization server. Its form comes back to the same URL. */
export const signInPage = (scope: string): string => `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width, initial-scale=1" />
  <title>Sign in to the tea club</title>
  <link rel="icon" href="data:," />
  <style>
    :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
    body { display: grid; place-items: center; min-height: 90dvh; margin: 0; padding: 1rem; }
    main { width: min(100%, 22rem); }
    h1 { font-size: 1.4rem; margin: 0; }
    label { display: block; font-weight: 600; margin-bottom: 0.25rem; }
    input, button { box-sizing: border-box; width: 100%; font: inherit; padding: 0.6rem; border-radius: 0.5rem; }
    input { border: 1px solid GrayText; margin-bottom: 0.75rem; }
    button { border: 0; background: light-dark(#136f4b, #5fd3a2); color: light-dark(#fff, #06281b); font-weight: 600; }
    :focus-visible { outline: 3px solid light-dark(#136f4b, #5fd3a2); outline-offset: 2px; }
  </style>
  <main>
    <h1>Sign in to the tea club</h1>
    <p>next-chat wants to see your <strong>${scope}</strong>. This page stands for a login that you trust: any name signs in.</p>
    <form method="post">
      <label for="name">Name</label>
      <input id="name" name="name" autocomplete="username" required maxlength="40" />
      <button>Sign in and allow</button>
    </form>
  </main>
</html>
`;
