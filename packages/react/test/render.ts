import { type ComponentType, createElement, type ReactNode, StrictMode, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { expect, onTestFinished } from "vitest";

export interface Rendered {
  readonly element: HTMLElement;
  readonly render: (node: ReactNode) => void;
}

/** Renders into the document, as an application in development does, until the test has finished. */
export function render(node: ReactNode): Rendered {
  const element = document.body.appendChild(document.createElement("div"));
  const root = createRoot(element);
  const rendered = {
    element,
    render: (next: ReactNode) => root.render(createElement(StrictMode, undefined, next)),
  };
  rendered.render(node);
  onTestFinished(() => {
    root.unmount();
    element.remove();
  });
  return rendered;
}

export interface RenderedHook<PROPS, RESULT> {
  /** What it returned at each time. */
  readonly results: RESULT[];
  readonly last: () => RESULT;
  readonly update: (props: PROPS) => void;
}

/** Renders a component that does nothing but use a hook, and waits until its effects have run. */
export async function renderHook<PROPS extends object, RESULT>(
  useHook: (props: PROPS) => RESULT,
  props: PROPS,
): Promise<RenderedHook<PROPS, RESULT>> {
  const results: RESULT[] = [];
  let isMounted = false;
  const User: ComponentType<PROPS> = (given) => {
    results.push(useHook(given));
    // After those of the hook.
    useEffect(() => void (isMounted = true), []);
    return undefined;
  };
  const { render: draw } = render(createElement(User, props));
  await expect.poll(() => isMounted).toBe(true);
  return {
    results,
    last: () => results.at(-1)!,
    update: (next) => draw(createElement(User, next)),
  };
}
