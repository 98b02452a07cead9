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

/** The style of the page, in both colour schemes, on a phone and on paper. */
export const pageStyle = [
  `:root{color-scheme:light dark;${colours}}`,
  `@media (prefers-color-scheme:dark){:root{${darkColours}}}`,
  "*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}",
  "main,header,footer{max-width:1048px;margin:0 auto;padding:0 24px}header{padding-top:36px}footer{margin-top:36px;padding-bottom:40px;font-size:13.5px}",
  "h1{font-size:26px;line-height:1.2;letter-spacing:-.01em;margin:0 0 6px}h2{font-size:18px;margin:24px 0 2px}section+section h2{margin-top:56px}h3{font-size:15px;margin:28px 0 8px}",
  "p{margin:0 0 10px;max-width:72ch}.quiet{color:var(--quiet)}code{font:.92em ui-monospace,SFMono-Regular,Menlo,monospace}a{color:var(--c1)}",
  ".facts{display:flex;flex-wrap:wrap;gap:10px;margin:16px 0 22px;padding:0}.facts div{display:flex;flex-direction:column;background:var(--box);border:1px solid var(--edge);border-radius:10px;padding:8px 14px;min-width:104px}",
  ".facts dt{color:var(--quiet);font-size:12.5px;order:2}.facts dd{margin:0;font-size:21px;font-weight:650;line-height:1.25;font-variant-numeric:tabular-nums}.facts .bad dd{color:var(--bad)}.facts .wait dd{color:var(--wait)}",
  "figure{margin:0}.picture{display:block;max-width:100%;height:auto;overflow:visible}.narrow{display:none}",
  ".picture a{outline:none}.picture a:hover .box{filter:drop-shadow(0 3px 10px var(--shade));stroke:var(--c1)}.picture a:focus-visible .box{stroke:var(--c1);stroke-width:3}",
  ".key{display:flex;flex-wrap:wrap;gap:4px 20px;list-style:none;margin:12px 0 0;padding:0;color:var(--quiet);font-size:13px}.key li{display:flex;align-items:center;gap:7px}.key svg{flex:none}",
  "table{border-collapse:collapse;width:100%;font-size:14px}caption{text-align:left;color:var(--quiet);padding-bottom:6px}th,td{text-align:left;vertical-align:top;padding:8px 14px 8px 0;border-top:1px solid var(--edge)}thead th{border:0;color:var(--quiet);font-weight:500;font-size:12.5px}",
  "td.number,th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tbody th{font-weight:600;white-space:nowrap}thead th:last-child{width:42%}tr:target{background:var(--box)}tr:target th{box-shadow:-8px 0 0 var(--c1)}",
  "ul.did{list-style:none;margin:0;padding:0}ul.did li{overflow-wrap:anywhere}.bad{color:var(--bad)}.wait{color:var(--wait)}",
  ".note{border-left:3px solid var(--wait-line);padding:2px 0 2px 12px;margin:0 0 8px}",
  "#tip{position:absolute;z-index:2;width:max-content;max-width:min(340px,calc(100vw - 24px));background:var(--box);color:var(--ink);border:1px solid var(--edge);border-radius:10px;box-shadow:0 8px 28px var(--shade);padding:10px 14px;font-size:13.5px;pointer-events:none}#tip b{display:block}",
  "@media (max-width:700px){main,header,footer{padding-left:24px;padding-right:24px}header{padding-top:24px}.wide{display:none}.narrow{display:block}.facts{display:grid;grid-template-columns:1fr 1fr}table,caption,tbody,tr,td,tbody th{display:block}thead{display:none}tr{border-top:1px solid var(--edge);padding:10px 0}th,td,td.number{border:0;padding:1px 0;text-align:left;white-space:normal}td[data-label]::before{content:attr(data-label) ': ';color:var(--quiet)}}",
  "@media print{body{font-size:12px;background:none}main,header,footer{max-width:none;padding:0}#tip{display:none}figure,tr,.facts div{break-inside:avoid}.wide{display:block}.narrow{display:none}a{color:inherit}}",
  pictureStyle,
].join("\n");

/** Shows what a step did while a pointer or the keyboard is on it; the table says the same. */
export const pageScript = `const tip=document.getElementById("tip");
const find=(event)=>event.target instanceof Element?event.target.closest("a[data-row]"):null;
function show(link){
  const row=link&&document.getElementById(link.dataset.row);
  if(!row){tip.hidden=true;return}
  const title=document.createElement("b");
  title.textContent=link.dataset.title;
  tip.replaceChildren(title,row.querySelector(".did").cloneNode(true));
  tip.hidden=false;
  const at=link.getBoundingClientRect();
  const left=Math.max(12,Math.min(at.left,document.documentElement.clientWidth-tip.offsetWidth-12));
  tip.style.left=left+scrollX+"px";
  // Below the sessions of the row, which it must not hide.
  tip.style.top=link.parentElement.getBoundingClientRect().bottom+scrollY+8+"px";
}
addEventListener("pointerover",(event)=>event.pointerType==="touch"||show(find(event)));
addEventListener("focusin",(event)=>show(find(event)));
addEventListener("focusout",()=>show());
addEventListener("keydown",(event)=>event.key==="Escape"&&show());`;
