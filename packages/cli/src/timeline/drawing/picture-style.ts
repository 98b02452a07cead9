/** The colours of the light scheme, and of the dark one. Text has a contrast of 4.5 to 1 at least. */
export const colours =
  "--ground:#fbfbfd;--box:#fff;--edge:#d3d9e2;--ink:#1a2029;--quiet:#5a6472;--bar:#8a97a8;--bad:#b42318;--wait:#8a5a00;--wait-line:#d99a1c;--good:#1a7f4b;--c1:#2563c9;--c2:#0b7a6b;--c3:#7a3fc4;--c4:#b0336f;--shade:rgba(20,30,50,.07)";
export const darkColours =
  "--ground:#11151b;--box:#1a2029;--edge:#38424f;--ink:#e8ecf2;--quiet:#9ca7b5;--bar:#7b8899;--bad:#ff8a80;--wait:#f0bb5e;--wait-line:#d99a1c;--good:#5bd093;--c1:#7aaeff;--c2:#4fd1bd;--c3:#c79bff;--c4:#ff92c4;--shade:rgba(0,0,0,.4)";

/** The style of the picture, in a page and in a file of its own. */
export const pictureStyle = [
  "text{font:11.5px ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--ink)}",
  ".title{font-weight:650;font-size:13px}",
  ".small{fill:var(--quiet);font-size:11px}.end{text-anchor:end}.middle,.asked{text-anchor:middle}",
  ".line.quiet{fill:var(--quiet)}.line.bad{fill:var(--bad)}.line.wait{fill:var(--wait)}.line.strong{font-weight:600}",
  ".ground{fill:var(--ground)}.box{fill:var(--box);stroke:var(--edge)}.box.cut{stroke:var(--bad);stroke-dasharray:5 4}",
  ".bar{fill:var(--c1)}.bar.quiet{fill:var(--bar)}.bar.wait{fill:var(--wait-line)}.bar.bad{fill:var(--bad)}.dot{fill:var(--ink)}",
  ".gap,.stem{fill:none;stroke:var(--bar)}.stem{stroke-dasharray:2 2}",
  ".span{stroke-width:8}.on{stroke-width:8;stroke-dasharray:2 3}.begin{stroke:var(--ground);stroke-width:2}",
  ...[1, 2, 3, 4].map(
    (number) =>
      `line.c${number}{stroke:var(--c${number})}circle.c${number},text.c${number}{fill:var(--c${number})}`,
  ),
  ".lane,text.wait.over{paint-order:stroke;stroke:var(--ground);stroke-width:4;stroke-linejoin:round}.lane{font-weight:600}.unsure{stroke:var(--bad);stroke-width:3;stroke-dasharray:3 4}",
  ".cross,.settled{fill:none;stroke:var(--bad);stroke-width:3;stroke-linecap:round}.settled{stroke:var(--good)}",
  "line.wait{stroke:var(--wait-line);stroke-width:3;stroke-dasharray:7 4}.round{fill:var(--box);stroke:var(--wait-line);stroke-width:2}",
  ".asked{font-size:10px;font-weight:650;fill:var(--wait)}",
].join("");
