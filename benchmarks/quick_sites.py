import sys, time, statistics, os
import numpy as np
from concurrent.futures import ThreadPoolExecutor
from numba import cuda
from benchmarks.bench_sites import MODEL, average_case, long_gene
from benchmarks.bench_spliced import milliseconds
from benchmarks.case_sets import PUBLISHED, case_set
from gpu_tools import SiteCase, SplicedScoring, tables_of, site_align
from gpu_tools.sites.cuda_job import Job
from gpu_tools.sites import cuda_packed as packed, cuda_packed_launch as pl
from gpu_tools.sites.cuda_wide_launch import WideLaunch
S=SplicedScoring()
rng=np.random.default_rng(2026)
t0=time.time()
cs=case_set(); bases={c.base.name:c.base for c in cs}
pool=ThreadPoolExecutor(16)
tabs=dict(zip(bases, pool.map(lambda b: tables_of(b,MODEL,"+-"), bases.values())))
print("tables",time.time()-t0)
def jobs(pairs,strands="+-"):
    out=list(pool.map(lambda p: [Job(SiteCase(p[0],p[1],{}).codes(s),p[2][s],p[1].codes,S) for s in strands], pairs))
    return [j for o in out for j in o]
P=[(c.base,c.target,tabs[c.base.name]) for c in cs]
b,t=average_case(rng); av=[(b,t,tables_of(b,MODEL,"+-"))]
g,d,_=long_gene(rng); lg=[(g,d,tables_of(g,MODEL,"+-"))]
def time_packed(name,js,sizes=None):
    keep=dict(packed.HOT_PLACES)
    if sizes:
        for k in keep:
            if k not in sizes: del packed.HOT_PLACES[k]
    t0=time.time(); L=pl.PackedLaunch(js,S,pool.map); t1=time.time()
    L.run(); cuda.synchronize(); t2=time.time()
    ms=statistics.median(milliseconds(L.run) for _ in range(3))
    cells=sum(len(j.codes)*len(j.target) for j in js)
    print(name,sizes,"jobs",len(js),"ms",round(ms,3),"GCUPS",round(cells/ms/1e6,1),"setup",round(t1-t0,2),"first",round(t2-t1,2),"sizes",{s:len(st)-1 for s,st,_ in L.groups},"MB",L.memory.nbytes>>20,flush=True)
    packed.HOT_PLACES.clear(); packed.HOT_PLACES.update(keep)
    return L
if len(sys.argv)>1 and sys.argv[1]=="regs":
    pass
js=jobs(P); print("jobs",time.time()-t0, all(pool.map(lambda j:j.fits_packed, js)))
for s in (4,8,16,24): time_packed("avg1",jobs(av,"+"),[s])
for s in (4,8): time_packed("long1",jobs(lg,"+"),[s])
many=[j for j in jobs(av,"+")]*1584
for s in (4,8,16,24): time_packed("many",many,[s])
for rate in (4e12,3e12,2e12):
    pl.CELLS_A_SECOND=rate
    time_packed("set %g"%rate,js)
time_packed("set+",js[::2])
time_packed("set",js,[4,8])
for s in packed.HOT_PLACES:
    k=packed.sweep_of(s)
    for o in k.overloads.values(): print(s,"regs",o.regs_per_thread,"local",o.local_mem_per_thread,"shared",o.shared_mem_per_block)
W=WideLaunch(jobs(av*500,"+"),S); W.run(); cuda.synchronize(); ms=milliseconds(W.run); print("wide plain x500",ms,500*len(b)*len(t)/ms/1e6)
from gpu_tools import SplicedScoring
tc=tables_of(b,MODEL,"+-",reading="complete")
W=WideLaunch([Job(b.codes,tc["+"],t.codes,S) for _ in range(300)],S); W.run(); cuda.synchronize(); ms=milliseconds(W.run); print("wide coding x300",ms,300*len(b)*len(t)/ms/1e6)
